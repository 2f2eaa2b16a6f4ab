# docker build --tag keras-transformer . && docker run --interactive --tty keras-transformer translate
FROM python:3.11-slim
COPY LICENSE MANIFEST.in README.md constraints.txt pyproject.toml setup.cfg /source/
COPY data /source/data
COPY keras_transformer /source/keras_transformer
RUN pip install --no-cache-dir --constraint /source/constraints.txt "/source[tensorflow]"
RUN rm -r /source && useradd --create-home user
USER user
WORKDIR /home/user
ENTRYPOINT ["keras-transformer"]
